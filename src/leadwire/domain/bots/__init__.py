"""The chatbots: their flows, what they have been taught, and the turns that visitors take with them."""
