"""A problem package's texts and schema. No torch, none of an author's code: the API process lives from this room."""
