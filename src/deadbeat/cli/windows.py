"""``python -m deadbeat.cli.windows FOLDER``: makes runs of the windows that a keeper kept, which
starts it at the lowest priority; with ``--end`` it then shows the result."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from deadbeat.cli._output import say
from deadbeat.cli.main import main
from deadbeat.program.run.kept import absorb

if __name__ == "__main__":
    for line in absorb(Path(sys.argv[1])):
        say(line)
    if sys.argv[2:] == ["--end"]:
        with redirect_stdout(StringIO()):
            main(("page", sys.argv[1]))
        sys.exit(main(("show", sys.argv[1])))
