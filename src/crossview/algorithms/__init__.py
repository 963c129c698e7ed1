"""The papers' equations, one file a family of papers."""
