"""The breakdown utilisation: up to which utilisation task sets meet their deadlines."""
