"""`python -m neuralrules` is the command line `neuralrules`."""

import sys

from neuralrules._cli import main

sys.exit(main())
