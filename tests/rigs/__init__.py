"""What tests drive: a real kernel, a real JupyterLab in Chromium, strict nbval."""
