"""What the paper prints of each experiment, in the order of its tables."""

METRICS = {
    "boolean": ("test_loss", "test_accuracy"),
    "arithmetic": ("sequence_accuracy", "digit_accuracy", "test_loss"),
    "vision": ("best_top1",),
    "language": ("val_perplexity", "test_perplexity"),
}
