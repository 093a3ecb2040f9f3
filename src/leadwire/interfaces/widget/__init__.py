"""The visitor's door: a channel of its own under /widget/v1, and the script that websites embed."""
