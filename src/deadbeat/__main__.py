"""``python -m deadbeat``: the command line."""

import sys

from deadbeat.cli.main import main

sys.exit(main())
