"""Bad input of every kind, and one judge: a right fit or a sentence, never anything else.

`source` is where choices come from (a seed, hypothesis or atheris); `matrices`, `labels` and
`wrappings` make input of them; `oracle` judges what came of it; `estimators`, `functions`, `files`
and `numbers` put these together to kinds of cases, which `kinds` lists. `runner` runs many cases in
child processes: ``python -m fuzz`` with this folder's parent on the path.
"""
