//! Writes an invented list in OpenSanctions' form (`entities.ftm.json`) to stdout, to measure large lists. Usage:
//! `invented_lists COUNT [SEED]`. The same arguments give the same list. Family names follow a skewed distribution like
//! real ones: few are very frequent, most are rare. Nobody in it exists.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a measuring tool that answers on stdout"
)]

use std::io::Write as _;

const GIVEN: [&str; 48] = [
    "Mohammed", "Ahmed", "Ali", "Maria", "Ivan", "Olga", "Sergey", "Anna", "Juan", "Jose", "Carlos", "Ana",
    "Wei", "Li", "Ming", "Hiroshi", "Yuki", "Kim", "Min", "Fatima", "Hassan", "Ibrahim", "John", "David",
    "Michael", "Sarah", "Emma", "Peter", "Paul", "Pierre", "Marie", "Giovanni", "Luca", "Hans", "Anders",
    "Lars", "Raj", "Priya", "Amit", "Chinedu", "Amara", "Kofi", "Nguyen", "Thi", "Aung", "Yusuf", "Mehmet",
    "Ayse",
];
const FREQUENT: [&str; 24] = [
    "Khan",
    "Smith",
    "Ivanov",
    "Garcia",
    "Wang",
    "Li",
    "Kumar",
    "Nguyen",
    "Hussein",
    "Rodriguez",
    "Petrov",
    "Singh",
    "Ali",
    "Yilmaz",
    "Chen",
    "Silva",
    "Okafor",
    "Mensah",
    "Rossi",
    "Muller",
    "Dupont",
    "Kowalski",
    "Tanaka",
    "Park",
];
const STARTS: [&str; 24] = [
    "ka", "mo", "ri", "ta", "so", "be", "du", "le", "vi", "za", "gri", "ste", "pro", "kha", "shu", "ya",
    "no", "fe", "al", "or", "in", "esh", "ul", "bra",
];
const MIDDLES: [&str; 20] = [
    "ra", "lin", "mo", "ver", "ta", "ni", "sha", "do", "gu", "ze", "ku", "lo", "ris", "ba", "ten", "mar",
    "fi", "hor", "de", "pul",
];
const ENDS: [&str; 16] = [
    "ov", "enko", "son", "idis", "ani", "eva", "ez", "ski", "man", "ura", "adi", "ić", "oğlu", "sen", "aro",
    "ed",
];

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        // The smaller of two: the first words are the most frequent.
        let place = self.below(words.len()).min(self.below(words.len()));
        words[place]
    }
}

fn family(random: &mut Random) -> String {
    if random.below(4) == 0 {
        return random.of(&FREQUENT).to_owned();
    }
    let mut name = random.of(&STARTS).to_owned();
    for _ in 0..=random.below(2) {
        name += random.of(&MIDDLES);
    }
    name += random.of(&ENDS);
    name[..1].to_uppercase() + &name[1..]
}

fn main() -> std::io::Result<()> {
    let mut args = std::env::args()
        .skip(1)
        .map(|arg| arg.parse::<u64>().unwrap_or(0));
    let (count, seed) = (args.next().unwrap_or(1_000), args.next().unwrap_or(1));
    let mut random = Random(seed);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for number in 0..count {
        let given = random.of(&GIVEN);
        let second = if random.below(3) == 0 {
            format!(" {}", random.of(&GIVEN))
        } else {
            String::new()
        };
        let last = family(&mut random);
        let alias = match random.below(3) {
            0 => format!(
                ",\"alias\":[\"{last}, {given}\",\"{} {last}\"]",
                random.of(&GIVEN)
            ),
            _ => String::new(),
        };
        let (year, month, day) = (
            1930 + random.below(75),
            1 + random.below(12),
            1 + random.below(28),
        );
        let country = ["ru", "ir", "cn", "us", "de", "ng", "br", "in"][random.below(8)];
        writeln!(
            out,
            "{{\"id\":\"invented-{number}\",\"schema\":\"Person\",\"caption\":\"{given}{second} {last}\",\"datasets\":[\"invented_pep\"],\
             \"referents\":[],\"last_seen\":\"2026-11-01T00:00:00\",\"target\":true,\"properties\":{{\"name\":[\"{given}{second} {last}\"]{alias},\
             \"birthDate\":[\"{year}-{month:02}-{day:02}\"],\"country\":[\"{country}\"],\"topics\":[\"role.pep\"],\
             \"position\":[\"Invented office {}\"]}}}}",
            number % 1000
        )?;
    }
    Ok(())
}
