"""``python -m lastseen`` is the ``lastseen`` command."""

from lastseen.cli.main import main

main()
