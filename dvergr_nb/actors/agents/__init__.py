"""Agents: profiles at work with real models."""
