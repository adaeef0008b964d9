"""`ops preflight`: whether what the stack file asks for will start, before anything is started."""
