"""What starts say: figures of one and of several, and which may be compared."""
