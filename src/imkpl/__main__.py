"""``python -m imkpl`` is the command ``imkpl``."""

from imkpl.cli import main

if __name__ == "__main__":
    main()
