"""How cells become numbers: executors, their failures, forecasts."""
