"""A teller for tests: what was said can be looked at."""


class Told:
    """A teller that remembers."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        """Remember the sentence."""
        self.sentences.append(sentence)

    def show(self, state: str) -> None:
        """Forget the state."""

    def calm(self) -> None:
        """There is nothing to take back."""
