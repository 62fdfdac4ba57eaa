"""Files that are whole or not there: JSON and arrays with a checksum, never a pickle.

`kind` says what a file is for, `arrays` and `archive` turn arrays and named pieces into bytes and
back, `document` puts them together, and `atomic` writes them in one step. Model files
(:mod:`imkpl.files`) and checkpoints (:mod:`imkpl.estimators`) are made of this.
"""
