"""Growing kernel trees: weigh a node, search its best split, divide its rows; bags of trees."""
