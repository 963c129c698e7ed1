"""The endpoints: what requests and answers look like, their documentation, and the live page."""
