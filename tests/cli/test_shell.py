"""The command in a process of its own, and what its documentation shows."""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

import pytest
from typer.main import get_command

from imkpl.cli import build_app

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
README = DOCUMENT.parents[1] / "README.md"
DEPLOYMENT = DOCUMENT.with_name("deployment.md")


def run(*arguments, module="imkpl", **more):
    command = [sys.executable, "-m", module, *(str(one) for one in arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def test_the_module_is_the_command(folder):
    answer = run("predict", folder / "a.imkpl", folder / "wine.csv", "--json")
    assert answer.returncode == 0
    assert len(json.loads(answer.stdout)["rows"]) == 60


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from imkpl.cli import build_app; build_app(); "
        "sys.exit(any(name in sys.modules for name in ('sklearn', 'numba', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_wrong_file_ends_with_1_and_a_sentence_in_the_letters_of_the_terminal():
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = run("fit", "ünknown.csv", "--target", "y", env=env)
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == "imkpl: ?nknown.csv does not exist. Check the name and the folder.\n"


def check_interrupted(code, *arguments):
    """Sends Ctrl-C to a process that has printed a line; it must end with 130 and a sentence."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        answer, errors = process.communicate(timeout=60)
    complaints = [line for line in errors.splitlines() if not line.startswith("note: ")]
    assert complaints == ["imkpl: Stopped with Ctrl-C. No file is incomplete."]
    assert (process.returncode, answer) == (130, "")


has_signals = pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal on POSIX only")


SLOW_IMPORT = """
import signal, sys, time

class Slow:
    def find_spec(name, path, target=None):
        if name == sys.argv[1]:
            # Compiled modules do this to whatever is raised while they are imported.
            try:
                print("importing", flush=True)
                time.sleep(60)
            except BaseException:
                raise ImportError("numpy.core.multiarray failed to import") from None

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Slow)
from imkpl.cli import main
main(sys.argv[2:])
"""


@has_signals
@pytest.mark.parametrize("package", ["typer", "sklearn"])
def test_ctrl_c_ends_with_130_and_a_sentence_also_during_an_import(package, folder):
    words = ("fit", folder / "wine.csv", "--target", "cultivar", "--json")
    check_interrupted(SLOW_IMPORT, package, *words)


@has_signals
def test_an_ignored_ctrl_c_stays_ignored():
    code = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "import imkpl.cli; from imkpl.cli import main;"
        "os.kill(os.getpid(), signal.SIGINT); main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def shown_commands():
    """Every command line in the documentation, in the readme and in the help."""
    found = []
    for path in (DOCUMENT, DEPLOYMENT, README):
        found += re.findall(r"^(?:    |\$ )?(imkpl [a-z].*)$", path.read_text(), re.MULTILINE)
    for command in get_command(build_app()).commands.values():
        found += re.findall(r"^\s+(imkpl .*)$", command.help, re.MULTILINE)
    return sorted({re.sub(r"\s+#.*", "", line) for line in found})


@pytest.mark.parametrize("line", shown_commands())
def test_commands_that_are_shown_have_the_options_they_show(line):
    _, name, *arguments = shlex.split(line)
    command = get_command(build_app()).commands[name]
    context = command.make_context(name, arguments)
    assert context.params


def test_the_documentation_shows_every_command_and_option():
    text = DOCUMENT.read_text()
    for name, command in get_command(build_app()).commands.items():
        assert f"imkpl {name}" in text
        for parameter in command.params:
            options = [option for option in parameter.opts if option.startswith("--")]
            assert not options or any(f"`{option}" in text for option in options), options


@pytest.mark.parametrize("name", get_command(build_app()).commands)
def test_help_shows_examples(name, shell):
    result = shell(name, "--help")
    assert result.exit_code == 0
    assert "Examples:\n" in result.stdout
    assert f"    imkpl {name}" in result.stdout
