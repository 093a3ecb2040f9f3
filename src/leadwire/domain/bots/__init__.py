"""The chatbots: `flow` is their language, `engine` runs it, `builder` edits drafts, `visitors` takes the turns."""
