"""Models fitted to measured arms: data, sensors, least squares, what the data say."""
