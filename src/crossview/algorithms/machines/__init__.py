"""Multi-view machines: interactions of every order between views, factorized together.

Reference: Cao, Zhou, Li, Yu, "Multi-View Machines", WSDM 2016.

Symbols: view v of a row x_v, factor f, weights A_v[i, f] of feature i and
bias rows A_v[bias, f] (the constant feature 1 that the paper appends).

    S_v,f = A_v[bias, f] + sum_i x_v,i A_v[i, f]           eq. (6), the part of one view
    score = intercept + sum_f prod_v S_v,f                 eq. (6)
    d score / d A_v[i, f] = x_v,i prod_{u != v} S_u,f      eq. (16)

Groups of views (section 3.1): a sum of machines, each with parameters of its
own over its views.  A view in a group is called a part.

Several classes: one machine per class; the factors of all classes lie in one row.

The paper's comparison models are made of the same sums S_v without bias rows.  With
T_f = sum_v S_v,f and a first factor of each class that is linear:

    factorization machine: intercept + linear
        + ½ sum_f (T_f² - sum_i x_i² A[i, f]²)            eq. (26), all pairs
        + ½ sum_f (T_f² - sum_v S_v,f²)                   eq. (27), pairs across views
    support tensor machine: intercept + prod_v S_v         eq. (25), k = 1

So four models share one loop.  ``state`` holds the parameters, ``scores`` the equations
above, ``init`` the initial weights, ``update`` the step of one row, and ``online`` the pass;
``batch`` sums over all rows for ``lbfgs`` and ``alternating``; ``interactions`` finds the
strongest terms of the score.
"""
