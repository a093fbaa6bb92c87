"""What a source in onereply.toml may say: its provider, its scheme, and what that scheme needs.

Owns: the fields of a source, which schemes each provider can be verified by, and the rules between
fields.
May not: hold a secret, or know how a scheme verifies.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from schemas.keys import MAX_SOURCE_BYTES

# A rule about a key: the key (empty: the entry's name), whether it is kept, and the sentence.
Rule = tuple[str, bool, str]

# The signature of a relay or a gateway of one's own may stand before any provider.
_ANY: Final = ("hookdeck", "hmac")
# providers.md section 0: how each provider's deliveries can be verified.
PROVIDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "agentmail": ("svix", *_ANY),
    "resend": ("svix", *_ANY),
    "bird": ("svix", *_ANY),
    "agentdraft": ("agentdraft", *_ANY),
    "postmark": ("basic", *_ANY),
    "sendgrid": ("sendgrid", "basic", *_ANY),
    "mailgun": ("mailgun", *_ANY),
    "ses": ("sns",),
}
SCHEMES: Final = ("svix", "agentdraft", "hookdeck", "hmac", "sns", "mailgun", "sendgrid", "basic")
# The providers whose events the stages read; those of the others end as dead letters.
READ: Final = ("agentmail",)
# providers.md section 6: these take 200 alone for success, or are documented with it.
_TAKES_200: Final = ("postmark", "mailgun", "sendgrid", "ses")
_ONLY_200: Final = ("postmark", "mailgun")

WINDOW_S: Final = 300
DAY_S: Final = 86_400
# Those whose contract names no window: a sender that repeats an old time may need a longer one.
_OWN_WINDOW: Final = ("hmac", "mailgun", "sendgrid", "sns")

# providers.md 5.4. An ARN's region is the only one whose certificates are asked for.
TOPIC_ARN: Final = re.compile(
    r"arn:aws(?:-cn|-us-gov)?:sns:([a-z]{2}(?:-[a-z]+)+-\d{1,2}):\d{12}:[\w-]{1,256}(?:\.fifo)?",
    re.ASCII,
)
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_PLACES: Final = re.compile(r"\{(\w*)\}")


class Hmac(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An HMAC of one's own: where it stands, how it is written, and what it covers.

    `signed`: the signed text, with `{body}` and, where their headers are named, `{timestamp}` and
    `{id}`. `prefix`: what stands before each signature. `key_encoding`: how secrets are written.
    """

    signature_header: str
    encoding: Literal["hex", "base64"] = "hex"
    prefix: str = ""
    algorithm: Literal["sha256", "sha384", "sha512"] = "sha256"
    timestamp_header: str = ""
    id_header: str = ""
    signed: str = "{body}"
    key_encoding: Literal["text", "base64", "hex"] = "text"


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A door: one webhook of one provider. `secrets` names the variables that hold secrets.

    A variable NAME has a twin NAME_FILE, a file that is read again when it changes.
    `inboxes`, when given, are the only inboxes that this source may speak for.
    `path_secrets` names variables, one of whose secrets must end the path (scheme basic).
    `topics` are the ARNs that may speak (scheme sns). `max_age_s` is how old a signature may be.
    `accepted_status` 0 is the provider's own: 200 or 204.
    """

    provider: str
    workspace: str
    secrets: tuple[str, ...] = ()
    scheme: str = "svix"
    inboxes: tuple[str, ...] = ()
    rate_per_second: int = 0
    accepted_status: int = 0
    path_secrets: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    max_age_s: int = WINDOW_S
    hmac: Hmac | None = None

    @property
    def answer(self) -> int:
        """The status of an accepted delivery."""
        return self.accepted_status or (200 if self.provider in _TAKES_200 else 204)

    @property
    def variables(self) -> tuple[str, ...]:
        """Every variable that holds a secret of this source."""
        return self.secrets + self.path_secrets


def source_rules(name: str, source: Source) -> list[Rule]:
    """The rules that a source keeps by itself, whatever else the file says."""
    is_plain = name.replace("-", "").isalnum() and name.isascii() and name == name.lower()
    return [
        ("", is_plain, "a name has lower-case letters, digits and hyphens only"),
        (
            "",
            len(name) <= MAX_SOURCE_BYTES,
            f"a name has at most {MAX_SOURCE_BYTES} characters",
        ),
        ("provider", source.provider in PROVIDERS, f"provider is one of {', '.join(PROVIDERS)}"),
        ("scheme", source.scheme in SCHEMES, f"scheme is one of {', '.join(SCHEMES)}"),
        *_scheme(source),
        *_secrets(source),
        *_answer(source),
        (
            "rate_per_second",
            source.rate_per_second >= 0,
            "rate_per_second is not negative; 0 is no limit",
        ),
    ]


def _scheme(source: Source) -> list[Rule]:
    """That the scheme is one of the provider's, and has what it needs and nothing else."""
    scheme = source.scheme
    if source.provider not in PROVIDERS or scheme not in SCHEMES:
        return []
    possible = PROVIDERS[source.provider]
    has_window = scheme in _OWN_WINDOW
    return [
        (
            "scheme",
            scheme in possible,
            f"scheme of provider {source.provider} is one of {', '.join(possible)}, not {scheme}",
        ),
        ("hmac", scheme == "hmac" or source.hmac is None, "hmac needs scheme hmac"),
        (
            "hmac",
            scheme != "hmac" or source.hmac is not None,
            "scheme hmac needs the table hmac with signature_header: [sources.NAME.hmac]",
        ),
        *([] if source.hmac is None else _hmac(source.hmac)),
        ("topics", scheme == "sns" or not source.topics, "topics needs scheme sns"),
        ("topics", scheme != "sns" or bool(source.topics), "topics names at least one topic's ARN"),
        *(
            ("topics", TOPIC_ARN.fullmatch(each) is not None, f"topics: {each} is no topic's ARN")
            for each in source.topics
        ),
        (
            "max_age_s",
            0 < source.max_age_s <= DAY_S,
            f"max_age_s is between 1 and {DAY_S}",
        ),
        (
            "max_age_s",
            has_window or source.max_age_s == WINDOW_S,
            f"max_age_s is {WINDOW_S} in scheme {scheme}",
        ),
    ]


def _secrets(source: Source) -> list[Rule]:
    is_sns = source.scheme == "sns"
    return [
        ("secrets", is_sns or bool(source.secrets), "secrets names at least one variable"),
        ("secrets", not is_sns or not source.secrets, "secrets is empty in scheme sns"),
        (
            "path_secrets",
            source.scheme == "basic" or not source.path_secrets,
            "path_secrets needs scheme basic",
        ),
    ]


def _answer(source: Source) -> list[Rule]:
    given = source.accepted_status
    return [
        ("accepted_status", not given or 200 <= given < 300, "accepted_status is a 2xx"),  # noqa: PLR2004  # 2xx
        (
            "accepted_status",
            source.provider not in _ONLY_200 or given in {0, 200},
            f"accepted_status is 200: {source.provider} takes no other for success",
        ),
    ]


def _hmac(given: Hmac) -> list[Rule]:
    """That every header is one, and that the signed text is made of what is there."""
    places = _PLACES.findall(given.signed)
    wanted = ["body"]
    wanted += ["timestamp"] if given.timestamp_header else []
    wanted += ["id"] if given.id_header else []
    return [
        *(
            (
                "hmac",
                not header or _HEADER.fullmatch(header) is not None,
                f"hmac: {key} is no header's name",
            )
            for key, header in (
                ("timestamp_header", given.timestamp_header),
                ("id_header", given.id_header),
            )
        ),
        (
            "hmac",
            _HEADER.fullmatch(given.signature_header) is not None,
            "hmac: signature_header is no header's name",
        ),
        (
            "hmac",
            sorted(places) == sorted(wanted),
            f"hmac: signed holds {' and '.join(f'{{{each}}}' for each in wanted)}, each once",
        ),
        (
            "hmac",
            given.prefix.isascii() and not any(each.isspace() for each in given.prefix),
            "hmac: prefix is ASCII without spaces",
        ),
    ]
