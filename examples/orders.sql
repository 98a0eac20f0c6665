-- orders.sql: a query of about three seconds for scripts/demo: a table is filled, indexed, joined with itself and searched.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, amount REAL, note TEXT);
INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
	SELECT i, i * 7919 % 20011, i * 31 % 1000 / 10.0, printf('order %d of %x', i, i * 2654435761) FROM n;
CREATE INDEX by_customer ON orders(customer);
SELECT count(*), round(sum(a.amount * b.amount)) FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id;
SELECT substr(note, -3) AS tail, count(*), avg(amount) FROM orders WHERE note LIKE '%7f%' GROUP BY tail ORDER BY 2 DESC LIMIT 3;
