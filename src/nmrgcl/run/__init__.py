"""What the commands do apart from printing: train models on a dataset and evaluate them."""
