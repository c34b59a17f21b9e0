"""How well NAR asks with what one has: classes of libraries, written networks, repositories."""
