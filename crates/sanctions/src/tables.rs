//! Tables of words that distinguish little or are equivalent: titles, particles, number words, legal forms,
//! generic words of organisations, and variants of given names.
//!
//! They are written by hand from general knowledge; no list or benchmark is a source. Entries have the form
//! that [`crate::text::words`] produces. Legal forms are written in their usual spelling and converted by it.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::text::words;

fn set(words: &'static str) -> FxHashSet<&'static str> {
    words.split_whitespace().collect()
}

/// Forms of address, ranks, offices and suffixes that are not part of a person's name.
pub(crate) static TITLES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    set(
        "mr mister mrs ms miss mx mme madame madam mlle monsieur herr frau fraulein senor senora senorita sr sra dr \
         doctor doktor prof professor dott dottore ing dipl engineer eng president prasident presidente \
         minister ministre ambassador general gen colonel col lieutenant lt captain capt commander cmdr admiral \
         brigadier sergeant sgt lord lady sir dame hrh his her majesty excellency honorable honourable hon rev \
         reverend jr junior phd md mba esq gospodin gospozha pan pani gospodja signor signora",
    )
});

/// Honorifics that often become part of a name in lists of some regions. They match with almost no weight.
pub(crate) static HONORIFICS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    set(
        "haji hajji hajj hadj hajii shaikh sheikh shaykh sheik cheikh shekh mullah mulla molla maulavi maulawi mawlawi \
         moulavi maulana mawlana qari sayyid sayed syed sayyed said sayid ustad ustadh hafiz imam emir amir ayatollah \
         hojatoleslam alhaji alhaj pir mufti mawlavi",
    )
});

/// Particles of people's names, each with the class whose members are equivalent.
pub(crate) static PARTICLES: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    let classes = [
        ("al", "al el ul ur ar as ad ash an at az ed es il"),
        ("bin", "bin ben ibn"),
        ("bint", "bint bent"),
        ("abu", "abu abou abi aboo"),
        ("de", "de di da do du dos das del della des dello degli"),
        ("von", "von van vom zu zur ter ten der den"),
        ("la", "la le les las los lo"),
        ("and", "y e i und and et"),
    ];
    classes
        .iter()
        .flat_map(|(class, words)| words.split_whitespace().map(|w| (w, *class)))
        .collect()
});

/// Connecting words in organisations' names.
pub(crate) static STOPWORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    set(
        "the of and for in on at to a an de la le les des du del da do dos das di della der die das und et y e i von \
         fur pour para per al el",
    )
});

/// Words that many organisations share and that therefore distinguish little.
pub(crate) static GENERIC_WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    set(
        "bank banco banque bancaire group groupe gruppe grupo gruppa holding holdings trust fund funds foundation \
         fundacion international global worldwide national general systems system services service solutions trading \
         trade commerce commercial industries industry industrial industria enterprise enterprises establishment \
         management investment investments capital finance financial development association organization \
         organisation organizacion society institute institut center centre centro agency authority office \
         committee council federation union technologies technology engineering construction shipping \
         logistics transport transportation marine maritime aviation airlines import export \
         factory plant works research production products manufacturing \
         army brigade front movement party forces partners associates consulting \
         university academy school",
    )
});

/// Spellings of common words of organisations that mean the same word.
pub(crate) static ORG_WORDS: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    let same = [
        (
            "international",
            "intl int internationale internacional internazionale mezhdunarodnyi mezhdunarodnyy",
        ),
        (
            "organization",
            "organisation organizacion organizatsiya organizatsiia org",
        ),
        ("center", "centre centro zentrum tsentr"),
        ("bank", "banco banque banka"),
        ("group", "groupe gruppe grupo gruppa gruppo grp"),
        ("holding", "holdings"),
        ("foundation", "fundacion fondation stiftung fond"),
        ("manufacturing", "mfg mfr"),
        ("government", "govt gov"),
        ("national", "natl nacional nationale natsionalnyy"),
        ("institute", "institut instituto inst"),
        ("university", "univ universidad universite universitat"),
        ("association", "assn assoc asociacion"),
        ("brothers", "bros"),
        ("services", "service svcs servicios"),
        ("systems", "system sistemy"),
        ("industries", "industry ind industrie industrias"),
        ("technologies", "technology tech technologie tekhnologii"),
        ("enterprise", "enterprises"),
        ("trading", "trade"),
        ("shipping", "shpg"),
        ("department", "dept"),
        ("ministry", "min ministerio ministere ministerstvo"),
        ("republic", "rep republica republique respublika"),
        ("saint", "st"),
        ("development", "dev"),
        ("engineering", "engg"),
        ("export", "exports"),
        ("import", "imports"),
    ];
    same.iter()
        .flat_map(|(word, others)| others.split_whitespace().map(|w| (w, *word)))
        .collect()
});

/// Country names and adjectives in the names of branches. An additional one distinguishes little.
pub(crate) static COUNTRY_WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    set(
        "uk usa us uae schweiz switzerland suisse deutschland germany france italia italy espana spain portugal brasil \
         brazil mexico chile argentina peru colombia china russia rossiya ukraine belarus poland polska turkey turkiye iran \
         iraq syria lebanon egypt cyprus malta ireland netherlands belgium austria osterreich india pakistan japan korea \
         singapore malaysia indonesia thailand vietnam philippines australia canada europe asia africa america luxembourg \
         liechtenstein monaco panama bahamas kazakhstan uzbekistan georgia armenia azerbaijan israel qatar kuwait oman \
         bahrain yemen libya tunisia algeria morocco sudan nigeria kenya ghana zimbabwe angola cuba venezuela bermuda \
         sweden sverige norway norge denmark danmark finland suomi iceland czechia slovakia hungary romania bulgaria \
         serbia croatia slovenia bosnia albania macedonia montenegro moldova estonia latvia lithuania greece ecuador \
         bolivia paraguay uruguay guatemala honduras nicaragua colombia jamaica haiti tanzania uganda rwanda ethiopia \
         somalia senegal mali niger cameroon congo zambia mozambique namibia botswana madagascar mauritius \
         afghanistan nepal bangladesh myanmar cambodia laos mongolia taiwan kyrgyzstan tajikistan turkmenistan jordan",
    )
});

/// Prefixes of ship names.
pub(crate) static SHIP_PREFIXES: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| set("mv mt ms ss mts fv my mtv vsl"));

/// The class of a legal form. Two different classes contradict each other; [`Form::Plain`] contradicts none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LegalForm {
    /// Forms of any class: "Company", "Corporation", "Inc.".
    Plain,
    /// Limited liability company, private limited.
    Limited,
    /// Joint-stock company, public limited.
    Stock,
    /// Limited or general partnership.
    Partnership,
    /// Non-profit, foundation, association, cooperative.
    NonProfit,
    /// State enterprise.
    State,
    /// Sole trader.
    Sole,
}

/// The words of a legal form and its class.
pub(crate) type FormWords = (Vec<String>, LegalForm);

/// Legal forms by their first word, those with most words first.
pub(crate) static LEGAL_FORMS: LazyLock<FxHashMap<String, Vec<FormWords>>> = LazyLock::new(|| {
    let forms: &[(LegalForm, &str)] = &[
        (
            LegalForm::Plain,
            "Company|Co|Co.|Coy|Corporation|Corp|Corporación|Compañía|Compagnie|Incorporated|Inc|компания|корпорация|Cie|Companhia|Enterprise Company|Pte|Pvt|Proprietary|Pty|شركة",
        ),
        (
            LegalForm::Limited,
            "LLC|L.L.C.|L L C|Limited Liability Company|Limited Liability Co|Ltd|Ltda|Limited|Limitada|Company Limited|Co Ltd|Co Limited|Corporation Limited|Pte Ltd|Pte Limited|Private Limited|Pvt Ltd|Private Ltd|Pty Ltd|Pty Limited|Proprietary Limited|Sdn Bhd|GmbH|G.m.b.H.|gGmbH|Gesellschaft mit beschränkter Haftung|mbH|Ges.m.b.H.|UG|Unternehmergesellschaft|S.r.l.|SRL|Società a responsabilità limitata|Societatea cu Răspundere Limitată|Sociedad de responsabilidad limitada|S. de R.L.|S. de R.L. de C.V.|Société à responsabilité limitée|SARL|S.à r.l.|EURL|Sp. z o.o.|Spółka z ograniczoną odpowiedzialnością|OOO|O.O.O.|ООО|Общество с ограниченной ответственностью|Товариство з обмеженою відповідальністю|ТОВ|TOV|ТОО|TOO|OÜ|SIA|UAB|d.o.o.|doo|društvo s ograničenom odgovornošću|s.r.o.|spol. s r.o.|společnost s ručením omezeným|Kft|korlátolt felelősségű társaság|EOOD|OOD|ЕООД|ООД|B.V.|BV|Besloten Vennootschap|BVBA|ApS|Anpartsselskab|Ltd. Şti.|Limited Şirketi|Ltd Sti|Lda|Sociedade por quotas|FZE|FZC|FZCO|FZ LLC|DMCC|WLL|W.L.L.|EPE|SPC|MMC|Mas'uliyati cheklangan jamiyat|有限公司|有限责任公司|SL|S.L.|Sociedad Limitada|GK",
        ),
        (
            LegalForm::Stock,
            "JSC|J.S.C.|Joint Stock Company|Joint Stock Co|OJSC|Open Joint Stock Company|PJSC|Public Joint Stock Company|CJSC|Closed Joint Stock Company|OAO|ОАО|О.А.О.|Открытое акционерное общество|ZAO|ЗАО|Закрытое акционерное общество|PAO|ПАО|Публичное акционерное общество|AO|АО|Акционерное общество|Приватне акціонерне товариство|ПрАТ|Публічне акціонерне товариство|ПАТ|AG|Aktiengesellschaft|SE|Societas Europaea|KGaA|S.A.|SA|Société anonyme|Sociedad anónima|Sociedade anônima|S.A.S.|SAS|S.A.B.|S.A. de C.V.|SA de CV|S.A.B. de C.V.|S.p.A.|SpA|Società per azioni|S.A.L.|SAL|PLC|P.L.C.|Public Limited Company|Public Company Limited|Public Limited|N.V.|NV|Naamloze Vennootschap|A/S|Aktieselskab|AB|Aktiebolag|ASA|Aksjeselskap|Oyj|Oy|Osakeyhtiö|a.s.|akciová společnost|A.Ş.|Anonim Şirketi|AS|d.d.|dioničko društvo|a.d.|akcionarsko društvo|AD|АД|Spółka akcyjna|Zrt|Nyrt|Tbk|PT|Perusahaan Terbuka|K.K.|Kabushiki Kaisha|Berhad|Bhd|PJS|股份有限公司|株式会社|주식회사|SAOG|K.S.C.|Q.S.C.|P.S.C.|شركة مساهمة",
        ),
        (
            LegalForm::Partnership,
            "LP|L.P.|Limited Partnership|LLP|L.L.P.|Limited Liability Partnership|KG|Kommanditgesellschaft|GmbH & Co. KG|GmbH & Co KG|OHG|GbR|SNC|S.n.c.|Sp. k.|C.V.|k.s.|v.o.s.",
        ),
        (
            LegalForm::NonProfit,
            "e.V.|eingetragener Verein|ANO|АНО|Autonomous Non-Profit Organization|Автономная некоммерческая организация|NGO|NPO|Stichting|Cooperative|Kooperativ|ASBL|A.C.|Asociación Civil|S.C.|eG",
        ),
        (
            LegalForm::State,
            "FGUP|ФГУП|Federal State Unitary Enterprise|Федеральное государственное унитарное предприятие|GUP|ГУП|State Unitary Enterprise|RUP|Republican Unitary Enterprise|Унитарное предприятие|UP|ФГБУ|FKP|ФКП|FGBU|State Enterprise|MUP",
        ),
        (
            LegalForm::Sole,
            "IP|ИП|Individual Entrepreneur|Индивидуальный предприниматель|e.K.|FOP|ФОП",
        ),
    ];
    let mut map: FxHashMap<String, Vec<FormWords>> = FxHashMap::default();
    for (class, names) in forms {
        for name in names.split('|') {
            let form: Vec<String> = words(name).into_iter().map(|w| w.text).collect();
            if let Some(first) = form.first() {
                map.entry(first.clone()).or_default().push((form, *class));
            }
        }
    }
    for entries in map.values_mut() {
        entries.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
    }
    map
});

/// Legal forms of a single word that is long enough to be recognised when misspelt.
pub(crate) static LONG_LEGAL_FORMS: LazyLock<Vec<(&str, LegalForm)>> = LazyLock::new(|| {
    let forms = LEGAL_FORMS
        .values()
        .flatten()
        .filter(|(words, _)| words.len() == 1 && words[0].len() >= 10);
    let mut forms: Vec<(&str, LegalForm)> = forms.map(|(words, class)| (words[0].as_str(), *class)).collect();
    forms.sort_unstable_by_key(|(word, _)| *word);
    forms
});

/// The number that a word means: cardinals, ordinals and, with `roman`, Roman numerals.
pub(crate) fn number(word: &str, roman: bool) -> Option<u32> {
    const CARDINALS: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    const ORDINALS: [&str; 11] = [
        "", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    ];
    const FOREIGN: &[(&str, u32)] = &[
        ("erste", 1),
        ("erster", 1),
        ("zweite", 2),
        ("premier", 1),
        ("premiere", 1),
        ("primer", 1),
        ("primero", 1),
        ("primera", 1),
        ("segundo", 2),
        ("segunda", 2),
        ("tercero", 3),
        ("pervyi", 1),
        ("pervyy", 1),
        ("pervaya", 1),
        ("vtoroi", 2),
        ("vtoroy", 2),
        ("tretii", 3),
        ("hundred", 100),
        // Frequent misspellings
        ("fourty", 40),
        ("fivety", 50),
        ("ninty", 90),
    ];
    if word.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = &word[digits.len()..];
        let ordinal = matches!(suffix, "" | "st" | "nd" | "rd" | "th" | "er" | "ere" | "o" | "a");
        return if ordinal { digits.parse().ok() } else { None };
    }
    let find = |table: &[&str]| {
        table
            .iter()
            .position(|w| *w == word && !w.is_empty())
            .map(|i| i as u32)
    };
    find(&CARDINALS)
        .or_else(|| find(&ORDINALS))
        .or_else(|| find(&TENS).map(|i| (i + 2) * 10))
        .or_else(|| FOREIGN.iter().find(|(w, _)| *w == word).map(|(_, n)| *n))
        .or_else(|| if roman { roman_number(word) } else { None })
}

/// Roman numerals up to 89 in their standard form. In names, `c`, `d` and `m` are far more often letters.
fn roman_number(word: &str) -> Option<u32> {
    if word.is_empty() || word.len() > 7 || !word.bytes().all(|b| matches!(b, b'i' | b'v' | b'x' | b'l')) {
        return None;
    }
    (1..90).find(|n| {
        let tens = ["", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx"];
        let ones = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"];
        let n = *n as usize;
        word.strip_prefix(tens[n / 10])
            .is_some_and(|rest| rest == ones[n % 10])
    })
}

/// Groups of given names that are commonly used for each other, one group per line.
const GIVEN_NAMES: &str = "
john jon johnny jack ivan jan johann johannes hans juan joao giovanni jean ioannis yannis sean ian evan yahya jonny johan
william will bill billy willy liam wilhelm guillaume guillermo vilhelm willem
robert rob bob bobby bert roberto
richard rick ricky dick ricardo
james jim jimmy jamie jaime diego
michael mike mick mickey mikhail michel miguel michal mikael mihail mykhailo mihai misha
joseph joe joey jose josef giuseppe iosif yosef yusuf yousef joe pepe youssef yousuf yusef yosif
thomas tom tommy tomas tomasz
charles charlie chuck carl karl carlos carlo karel chaz
edward ed eddie ted ned edouard eduard eduardo
henry harry hank heinrich henri enrique henrik
george georg jorge giorgio georgi georgy jerzy georges georgios jurgen heorhii
anthony tony antonio anton antoine antonios
alexander alex sasha aleksandr alexandr alejandro alexandre aleksander oleksandr alexandros aliaksandr alessandro sandro aleksandar sacha
andrew andy drew andrei andrey andreas andre andres andrzej andriy andrii ondrej
daniel dan danny danil daniil danilo
david dave davy dawid davit daud dawud dawood daoud
peter pete pyotr petr pedro pierre piotr pietro petro petros
paul paulo pablo pavel paolo pawel pavlo
stephen steven steve stefan esteban etienne stepan stefano stephan istvan
nicholas nick nicky nikolai nikolay nicolas nicola nikolaos mykola nikola kolya niklas mikalai
matthew matt matteo matthias mateo mateusz matvei
mark marc marco marcos markus marcus marek
louis lewis luis luigi ludwig lou ludovic
philip phil phillip felipe philippe filip filippo
francis frank francisco franz francesco francois pancho paco franciszek
frederick fred freddy friedrich frederic federico frederik fryderyk
gregory greg grigory grigori gregorio grzegorz hryhorii
vladimir volodymyr vova volodya uladzimir
dmitry dmitri dima dmytro dmitriy dzmitry
sergei sergey serge sergio serhii serhiy siarhei sergejs
eugene gene yevgeny evgeny yevgeni evgeniy yevhen eugen evgenii jewgeni
theodore theo ted teddy fyodor fedor teodor fiodor
basil vasily vassili vasil vasyl wassili vasiliy
benjamin ben benny benji binyamin bibi benyamin
samuel sam sammy samuil shmuel
christopher chris cristobal christoph kris christophe
kenneth ken kenny
ronald ron ronnie
donald don donny
lawrence larry laurence lorenzo laurent lars
leonard leo lenny leonid leonardo
patrick pat paddy patricio
raymond ray ramon
gerald gerry jerry gerard gerardo gerhard
walter walt wally
arthur art arturo artur
albert bert alberto
barack barry barak
bernard bernie bernardo bernhard
eliot elliott eliott
zachary zach zack
joshua josh
jacob jake jakob yakov jacques jakub yaakov yaqub yakub yaqoob yakoub yaqoub
abraham abe ibrahim avraham ebrahim ibraheem brahim
solomon suleiman sulaiman suleyman salomon
isaac ishaq isaak itzhak yitzhak
moses musa moshe moise mousa
jesus isa issa eisa
aaron harun haroun aron
elizabeth liz beth betty lisa eliza elisabeth elizaveta isabel elisa lizzie bess
margaret maggie meg peggy margarita marguerite greta margarete rita
katherine catherine kate kathy katie cathy ekaterina yekaterina katarina kathryn caterina katya catalina kateryna
mary maria marie miriam maryam mariam molly mariya mariia
anne ann anna annie hanna hannah ana anya
jane joan joanna jeanne juana giovanna johanna jana ioanna
susan sue suzanne susanna susana susie
barbara barb babs varvara
patricia patty tricia pat
deborah debbie deb debra
rebecca becky
jennifer jen jenny
victoria vicky viktoria viktoriya
alexandra sandra aleksandra sasha oleksandra
helen elena helena yelena ellen olena
sophia sofia sophie sofiya
natalia natasha nataliya natalie nataliia
olga olha volha
irina iryna irene
julia yulia yuliya iuliia julie giulia
tatiana tanya tatyana tetiana
teresa therese theresa terry tess
mohammed muhammad mohamed mohammad mohamad muhammed mohamud mahomed mehmet mohd mohamet mokhammad magomed mahamad muhammadu mamadou mamadu maxamed mohammod
ahmed ahmad ahmet akhmed akhmad axmed
mahmoud mahmud mahmood mehmood
hussein husayn hussain husain hossein hussien husseyn huseyin khusein hosein xuseen
hassan hasan hassen khasan
ali aly
omar umar omer oumar
osman uthman othman usman ousmane cusmaan
osama usama oussama
abdullah abdallah abdulla abdellah abdoullah
saeed said sayeed saeid
khalid khaled halid
rashid rasheed rachid
jamal gamal djamal djamel jamaal
youssef yusuf yousef yousuf
mustafa mostafa mustapha moustafa
mansour mansur mansoor
nasser nasir naser nassir
hamid hameed
karim kareem
saleh salih salah
taher tahir
qasim kassem qassem kasim ghassem qasem kacem
muammar moammar mu'ammar
zayd zaid zayed zaeed
";

/// The groups of each given name, by line of [`GIVEN_NAMES`].
pub(crate) static GIVEN_NAME_GROUPS: LazyLock<FxHashMap<&str, Vec<u16>>> = LazyLock::new(|| {
    let mut map: FxHashMap<&str, Vec<u16>> = FxHashMap::default();
    for (i, line) in GIVEN_NAMES.trim().lines().enumerate() {
        for name in line.split_whitespace() {
            let groups = map.entry(name).or_default();
            if !groups.contains(&(i as u16)) {
                groups.push(i as u16);
            }
        }
    }
    map
});

/// The other names in a given name's groups.
pub(crate) fn given_name_variants(name: &str) -> Vec<&'static str> {
    static LINES: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
        GIVEN_NAMES
            .trim()
            .lines()
            .map(|l| l.split_whitespace().collect())
            .collect()
    });
    let groups = GIVEN_NAME_GROUPS.get(name).map_or(&[][..], Vec::as_slice);
    groups
        .iter()
        .flat_map(|g| LINES[usize::from(*g)].iter().copied())
        .filter(|n| *n != name)
        .collect()
}

/// Whether two given names share a group.
pub(crate) fn same_given_name(a: &str, b: &str) -> bool {
    match (GIVEN_NAME_GROUPS.get(a), GIVEN_NAME_GROUPS.get(b)) {
        (Some(a), Some(b)) => a.iter().any(|g| b.contains(g)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (word, n) in [
            ("44", 44),
            ("1st", 1),
            ("first", 1),
            ("forty", 40),
            ("xiii", 13),
            ("iv", 4),
        ] {
            assert_eq!(number(word, true), Some(n), "{word}");
        }
        for word in ["iiii", "vx", "bank", "3m", "civil"] {
            assert_eq!(number(word, true), None, "{word}");
        }
        assert_eq!(number("iv", false), None);
    }

    #[test]
    fn forms_are_found_in_our_own_spelling() {
        for first in ["ooo", "llc", "gmbh", "obshchestvo", "societatea", "sp", "joint"] {
            assert!(LEGAL_FORMS.contains_key(first), "{first}");
        }
    }

    #[test]
    fn short_names() {
        assert!(same_given_name("jon", "john") && same_given_name("bibi", "benjamin"));
        assert!(!same_given_name("bill", "bob") && !same_given_name("xyz", "xyz"));
    }
}
