"""Who may do what in a stack: its IAM documents as they stand after an `up`, their sizes, and what follows from them.

Nothing here imports the program: documents are read as AWS gets them, from the engine's state.
"""
