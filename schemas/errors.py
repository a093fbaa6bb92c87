"""The errors that more than one process raises.

Owns: the root, and below it whether trying again can help.
May not: know a topic, a stage or a client.
"""


class OneReplyError(Exception):
    """Something that OneReply names. The sentence says what to do where something can be done."""


class Permanent(OneReplyError):
    """The input itself is at fault: trying the same again cannot help."""


class Transient(OneReplyError):
    """Something outside is away or slow: the same again may work later."""


class DecodeError(Permanent):
    """Bytes that are not the record they should be."""


class Refused(Permanent):
    """A record that a stage sets aside: it becomes a dead letter with this reason."""


class TooLarge(Refused):
    """An output above its size limit: the record that caused it becomes a dead letter."""


class SettingsError(Permanent):
    """Settings or files that cannot be run with. Holds every problem, not the first one."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


class ClusterMismatch(Permanent):
    """The cluster is not what this project declares. One line a difference, with its remedy."""

    def __init__(self, differences: list[str]) -> None:
        self.differences = tuple(differences)
        super().__init__("\n".join(differences))
