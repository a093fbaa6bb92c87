import logging

from processors.writers.quiet import MOST_SENTENCES, REPEAT_AFTER_S, Seldom


def a_line(sentence: str, *, name: str = "aiokafka.conn", at_s: float = 0.0) -> logging.LogRecord:
    """A log line of the framework."""
    record = logging.LogRecord(name, logging.ERROR, __file__, 1, sentence, (), None)
    record.created = at_s
    return record


def test_the_framework_repeats_itself_seldom() -> None:
    """A broker that is away for an hour is one line in ten seconds, not ten in one."""
    seldom = Seldom()
    moments = (0.0, 0.1, REPEAT_AFTER_S - 0.1, REPEAT_AFTER_S, REPEAT_AFTER_S + 0.1)

    passed = [seldom.filter(a_line("no broker", at_s=at_s)) for at_s in moments]

    assert passed == [True, False, False, True, False]


def test_another_sentence_passes() -> None:
    """What is new is news."""
    seldom = Seldom()

    assert [seldom.filter(a_line(words)) for words in ("no broker", "no topic")] == [True, True]


def test_our_own_lines_always_pass() -> None:
    """One line an outcome, however many outcomes."""
    seldom = Seldom()
    lines = [a_line("text written", name="processors.write") for _ in range(3)]

    assert [seldom.filter(line) for line in lines] == [True, True, True]


def test_a_clock_that_went_back_silences_nothing() -> None:
    """Else an hour's step back would be an hour's silence."""
    seldom = Seldom()

    assert [seldom.filter(a_line("no broker", at_s=at_s)) for at_s in (3600.0, 0.0)] == [True, True]


def test_sentences_that_never_come_again_are_forgotten() -> None:
    """Some hold a number: memory must not grow with them."""
    seldom = Seldom()
    for number in range(MOST_SENTENCES + 1):
        seldom.filter(a_line(f"offset {number}"))

    assert seldom.filter(a_line("offset 0"))
