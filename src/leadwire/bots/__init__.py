"""The chatbots: for now their names; flows, the widget and the inbox come to live here."""
