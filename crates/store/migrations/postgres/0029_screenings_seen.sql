-- Beside a score, what may be concluded from it: so that no list of scores shows "nothing is known" as "nothing was found".
-- Why the chain's source, the lists or the server gave no answer, in a word; null: they did, or an earlier version did not say.
alter table screenings add column failed text;
-- How much was seen of the money, in a word, and thousandths of the highest score that the rest could make; null: nobody says.
alter table screenings add column seen text;
alter table screenings add column bound_millis bigint;
