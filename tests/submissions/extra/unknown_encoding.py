# coding: no-such-thing
x = 1
