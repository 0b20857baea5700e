"""Task sets: fragments, drawing, running, prices, contention, predictions."""
