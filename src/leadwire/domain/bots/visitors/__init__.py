"""What visitors meet: the widget's opening, their turns, answers from the FAQ, and the end of silent conversations."""
