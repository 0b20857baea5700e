df -kP /
