def my_problem(x, slope=0.01):
    return x.relu()
