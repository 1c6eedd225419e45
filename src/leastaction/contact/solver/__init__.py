"""The complementarity problem of contacts, limits and dry friction over a dense Delassus matrix, and its solver."""
