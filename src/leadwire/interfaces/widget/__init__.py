"""What visitors use: an API of its own under /widget/v1, and the script that websites embed."""
