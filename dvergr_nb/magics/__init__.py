"""What a person types after `%`: thin magics that parse, call the session and return something that shows itself."""
