"""Cards and boards: anywidget classes, and the HTML and text that stand in for them."""
