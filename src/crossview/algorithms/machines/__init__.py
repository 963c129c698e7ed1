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

A factorization machine of order m > 2 (Blondel, Fujino, Ueda, Ishihata, "Higher-Order
Factorization Machines", NeurIPS 2016) has the products of up to m columns, with one set of factors
for all orders.  With z_i = x_i A[i, f], of columns, or z_v = S_v,f of views, and E_r the sum over
all products of r different z, the ANOVA kernel,

    score = intercept + linear + sum_f sum_(r = 2 .. m) E_r
    E_r <- E_r + z E_(r-1), for r = m .. 1 and each z in turn, from E_0 = 1: O(m d)
    d E_r / d z = E_(r-1)' of the others = E_(r-1) - z E_(r-2)'

So all models share one loop.  ``state`` holds the parameters, ``scores`` the equations
above, ``init`` the initial weights, ``update`` the step of one row, and ``online`` the pass;
``batch`` sums over all rows for ``lbfgs`` and ``alternating``; ``interactions`` finds the
strongest terms of the score.
"""
