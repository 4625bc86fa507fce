"""A real JupyterLab in Chromium: what a person sees and does there."""
