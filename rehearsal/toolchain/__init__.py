"""Getting the programs that a rehearsal needs: found, downloaded, or built once and cached."""
