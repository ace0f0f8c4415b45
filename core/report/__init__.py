"""The review as a document: words and figures made once, shown by a page and written to files.

`document` is the model, `period` and its neighbours fill it from views, `html`, `markdown`
and `csv_files` write it; `orders` lets the command line ask the running app, which alone
may read the cache.
"""
