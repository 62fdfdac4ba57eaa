"""Bad input of every kind, and one judge: a right fit or a sentence, never anything else.

`inputs` makes input of choices by a seed, `oracle` judges what came of it, and
`cases` puts these together to kinds of cases. `runner` runs many cases in child processes:
``python -m fuzz`` with the parent of this folder on the path.
"""
