"""What a recording says: values of requests and answers at places, their forms, and ids."""
