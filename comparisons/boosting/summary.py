def write_page(runs, page):
    pass
