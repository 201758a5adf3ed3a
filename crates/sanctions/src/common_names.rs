//! Parts of people's names that very many people bear. A name made of them alone identifies nobody.
//!
//! The table is written by hand from general knowledge; no list or benchmark is a source. Entries have the form that
//! [`crate::text::words`] produces. Names of up to three letters need no entry, because [`crate::name`] counts them as
//! common. This module compares nothing.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::tables::GIVEN_NAME_GROUPS;

/// Frequent family names and given names beyond [`GIVEN_NAME_GROUPS`], by region.
const FREQUENT: &[&str] = &[
    // English
    "smith johnson williams brown jones davis miller wilson moore taylor anderson jackson white harris martin thompson \
     robinson clark rodriguez lewis walker hall allen young king wright hill green adams baker nelson carter mitchell \
     roberts turner phillips campbell parker evans edwards collins stewart morris rogers reed cook morgan bell murphy \
     bailey cooper richardson howard ward peterson gray watson brooks kelly sanders price bennett wood barnes ross \
     henderson coleman jenkins perry powell long patterson hughes butler simmons foster bryant russell griffin hayes \
     myers ford hamilton graham sullivan wallace woods cole west jordan owens reynolds fisher ellis harrison gibson \
     cruz marshall freeman webb simpson stevens tucker porter hunter hicks crawford boyd mason kennedy warren dixon \
     burns gordon shaw holmes rice robertson hunt black palmer mills grant knight ferguson rose stone hawkins dunn \
     perkins hudson spencer gardner payne pierce berry matthews arnold wagner ryan scott james brian kevin jason \
     jeffrey justin brandon jonathan tyler aaron adam nathan kyle jeremy keith roger terry sean austin noah dylan \
     bruce jordan bryan billy alan juan wayne roy ralph eugene vincent russell louis bobby johnny linda sandra ashley \
     kimberly emily donna michelle carol amanda melissa stephanie sharon laura cynthia kathleen amy angela shirley \
     brenda pamela nicole samantha debra rachel carolyn janet maria heather diane emma ruth joyce kelly christina \
     lauren joan evelyn judith andrea megan cheryl hannah jacqueline martha gloria teresa sara janice jean alice \
     kathryn madison doris abigail julia judy grace denise amber marilyn beverly danielle theresa diana brittany \
     natalie sophia marie rose isabella alexis kayla charlotte susan nancy karen lisa betty dorothy helen sandra",
    // Spanish and Portuguese
    "garcia gonzalez rodriguez fernandez lopez martinez sanchez perez gomez martin jimenez ruiz hernandez diaz moreno \
     munoz alvarez romero alonso gutierrez navarro torres dominguez vazquez vasquez ramos gil ramirez serrano blanco \
     molina morales suarez ortega delgado castro ortiz rubio marin sanz nunez iglesias medina garrido cortes castillo \
     santos lozano guerrero cano prieto mendez cruz calvo gallego vidal leon herrera marquez pena flores cabrera campos \
     vega fuentes carrasco diez caballero reyes nieto aguilar pascual santana herrero lorenzo montero hidalgo gimenez \
     ibanez ferrer duran santiago benitez mora vicente vargas arias carmona crespo roman pastor soto saez velasco moya \
     soler parra esteban bravo gallardo rojas rivera mendoza velasquez velazquez guzman salazar juarez contreras \
     espinoza espinosa valdez valdes acosta silva figueroa sandoval maldonado estrada avila rios cardenas mejia miranda \
     luna rosales salas robles pacheco bautista zamora cervantes lara ochoa orozco trejo meza galvan padilla barrera \
     beltran bernal villarreal zuniga quintero rincon franco cardona giraldo restrepo valencia montoya zapata ospina \
     correa arango henao londono arias duarte oliveira souza sousa costa ferreira pereira almeida carvalho ribeiro \
     rodrigues martins lima araujo barbosa rocha dias nascimento andrade moreira nunes marques machado mendes freitas \
     cardoso ramos gomes goncalves teixeira pinto moura cavalcanti monteiro correia batista campos fernandes lopes \
     alves vieira azevedo tavares fonseca jose manuel juana luis javier francisco antonio carlos jesus alejandro \
     miguel rafael angel fernando sergio alberto jorge raul ramon enrique oscar ruben adrian ivan vicente andres joaquin \
     santiago victor eduardo roberto mario jaime ignacio marcos alfonso salvador ricardo emilio julian julio gabriel \
     hector cesar armando arturo gustavo gerardo guillermo rodolfo ernesto felipe martin hugo marco antonio tomas lucia \
     carmen ana isabel dolores pilar teresa josefa cristina angeles francisca laura antonia elena concepcion rosa marta \
     manuela mercedes raquel rosario beatriz silvia julia irene patricia montserrat andrea rocio monica alba angela \
     sonia alicia sandra susana marina yolanda natalia margarita claudia veronica gabriela carolina daniela fernanda \
     paula adriana alejandra valentina camila sofia mariana juliana luciana bruna joao pedro paulo lucas mateus thiago \
     rodrigo diego bruno leonardo fabio leandro marcelo junior wilson edson",
    // French, Italian, German, Dutch, Nordic
    "bernard dubois thomas robert richard petit durand leroy moreau simon laurent lefebvre michel bertrand roux vincent \
     fournier morel girard andre mercier dupont lambert bonnet francois martinez legrand garnier faure rousseau blanc \
     guerin muller henry roussel nicolas perrin morin mathieu clement gauthier dumont lopez fontaine chevalier robin \
     philippe alain isabelle nathalie sylvie catherine monique martine rossi russo ferrari esposito bianchi romano \
     colombo ricci marino greco gallo conti costa giordano mancini rizzo lombardi moretti francesca chiara giuseppina \
     schmidt schneider fischer weber meyer wagner becker schulz hoffmann schafer koch bauer klein wolf schroder neumann \
     schwarz zimmermann braun kruger hofmann hartmann lange schmitt werner krause lehmann kohler herrmann walter konig \
     mayer huber kaiser fuchs lang scholz weiss jung hahn keller vogel gunter klaus jurgen wolfgang helmut manfred uwe \
     bernd horst dieter ursula monika petra sabine renate jansen vries bakker visser smit meijer mulder bos peters \
     hendriks dekker johansson andersson karlsson nilsson eriksson larsson olsson persson svensson gustafsson hansen \
     johansen olsen larsen andersen pedersen nilsen kristiansen jensen karlsen johnsen nielsen christensen sorensen \
     rasmussen jorgensen madsen kristensen lars erik anders karin ingrid",
    // Slavic and Caucasian
    "ivanov ivanova smirnov smirnova kuznetsov kuznetsova popov popova vasiliev vasilyev vasileva petrov petrova \
     sokolov sokolova mikhailov mikhaylov novikov novikova fedorov fedorova morozov morozova volkov volkova alekseev \
     alexeev lebedev lebedeva semenov semyonov semenova egorov egorova pavlov pavlova kozlov kozlova stepanov stepanova \
     nikolaev nikolayev orlov orlova andreev andreeva makarov makarova nikitin nikitina zakharov zakharova zaitsev \
     zaytsev solovyov soloviev borisov borisova yakovlev yakovleva grigoriev grigoryev romanov romanova vorobyov \
     sergeev sergeyev kuzmin frolov alexandrov aleksandrov dmitriev korolev gusev kiselev ilyin maximov maksimov \
     polyakov sorokin vinogradov kovalev belov medvedev antonov tarasov zhukov baranov filippov komarov davydov belyaev \
     gerasimov bogdanov osipov sidorov matveev titov markov mironov krylov kulikov karpov vlasov melnikov denisov \
     shevchenko melnyk kovalenko bondarenko tkachenko kravchenko boyko kovalchuk oliynyk aleksey alexey alexei oleg \
     igor yuri yury yuriy anatoly anatoli viktor victor boris konstantin maxim maksim roman ruslan denis artem kirill \
     stanislav vladislav vyacheslav gennady valery valeri vitaly vitali ilya timur svetlana lyudmila galina valentina \
     nina tamara marina larisa ludmila oksana anastasia nadezhda lyubov aleksandrovich aleksandrovna alexandrovich \
     vladimirovich vladimirovna sergeevich sergeyevich sergeevna ivanovich ivanovna nikolaevich nikolayevich \
     nikolaevna petrovich petrovna viktorovich viktorovna alekseevich alexeyevich anatolyevich anatolievich yurievich \
     yuryevich vasilyevich vasilievich mikhailovich mikhaylovich dmitrievich dmitriyevich andreevich andreyevich \
     pavlovich borisovich olegovich igorevich gennadyevich gennadievich valeryevich evgenievich yevgenyevich \
     novak nowak kowalski wisniewski wojcik kaminski lewandowski svoboda dvorak horvat kovac jovanovic petrovic nikolic \
     markovic popescu ionescu nagy kovacs szabo toth horvath",
    // Arabic, Persian, Turkic, South Asian
    "mohammadi hosseini ahmadi karimi moradi rezaei rezai jafari rahimi hashemi mousavi musavi heidari sadeghi \
     ebrahimi rostami akbari ghasemi norouzi soltani hamidi azizi asadi najafi salehi bagheri rahmani sharifi amiri \
     abbasi tehrani yazdi husseini hussaini hasani hassani alavi zare reza mehdi mahdi abbas amir akbar asghar \
     hamed majid saber vahid javad masoud masud masood mojtaba morteza murtaza fatemeh fatima fatma zahra zainab zeinab \
     maryam khadija aisha aysha ayesha leila layla nour noor huda amina salma samira yasmin rahman raheem rahim aziz \
     malik ghani wahid qadir qader qadeer jabbar jaber jabir salam majeed hakim haq khaliq latif ghafar ghaffar sattar \
     razzaq razaq wahab satar fattah fatah baqi samad habib habibullah rahmatullah rahmatollah amanullah asadullah \
     hamidullah najibullah nasrullah fazal fazl iqbal javed pervez imran usman adnan bilal faisal faysal fahad fahd \
     sultan salman saud turki bandar abbas adel adil anwar ashraf ayman bashar bashir bassam fadi faris fares fawzi \
     ghassan hadi haitham hamad hamza hani harith hatem hazem hisham hesham ismail ismael ismaeel issa jihad \
     kamal kamel khalil khaleel khalifa luay maher mahir mazen marwan munir mounir murad mourad nabil nadim nader nadir \
     naim nazar nizar osama rafiq raed raid rami ramzi riad riyad riyadh sabri sadiq sadeq safwan salim saleem salam \
     sami samir shahid sharif shareef sofian sufyan tamer tarek tariq tareq walid waleed wael wissam yahya yasin yaseen \
     yassin yasir yaser yasser yunis younis yunus younes zaki zakaria zakariya ziad ziyad shah khan ullah begum bibi \
     jan gul agha akhtar malik mirza chaudhry chaudhary butt sheikh siddiqui qureshi ansari kumar singh sharma devi \
     gupta verma patel yadav prasad kaur yilmaz kaya demir celik sahin yildiz yildirim ozturk aydin ozdemir arslan \
     dogan kilic aslan mehmet mustafa ayse emine hatice haydar haidar haider jassem jasim jasem kadhim kazem kazim \
     jawad jaafar jafar mahdi sadr hilal saadi tikriti janabi jubouri juburi dulaymi samarrai baghdadi masri \
     masry libi shami hamdan hammad hamdi hamoud hammoud haddad khoury najjar sabbagh saber awad issa eid ramadan \
     ibrahimi abdi hashi nur ahmadzai zadran haqqani yusufzai stanekzai barakzai popal noorzai achakzai mamadou diallo \
     traore coulibaly diarra keita toure camara barry bello musa abubakar sani ahmadu aliyu okafor okoro adeyemi mwangi \
     kamau otieno ochieng wanjiru",
    // East and South-East Asian
    "wang zhang chen yang zhao huang zhou zhu gao lin guo liang song zheng tang feng deng xiao zeng cheng peng jiang \
     shen dong yuan zhong wei shao meng qian tian ming ping hong hong jing ying ling qing ting ning long jian jun \
     xiang xiong xin xing yong yun zhen zhi chang chao chun guang guo hai hao hua hui jie juan lan lei liang mei \
     peng qiang rong rui shan shu wen ying jung jong chung chong choi choe park kang yoon yoon cheong kyung kyong \
     young yong seung sung seong hyun hyon hyung jin joon joong sang sook soon chul chol cheol hwan hwang kwang kwon \
     myung myong nguyen tran phan huynh hoang pham dang thanh minh thi tanaka suzuki sato takahashi watanabe ito \
     yamamoto nakamura kobayashi kato yoshida yamada sasaki yamaguchi matsumoto inoue kimura hayashi shimizu saito \
     hiroshi takashi kenji akira yoko keiko kazuko santos reyes cruz bautista ocampo aquino",
];

/// The frequent names of every region.
pub(crate) static COMMON_NAMES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    let grouped = GIVEN_NAME_GROUPS.keys().copied();
    grouped
        .chain(FREQUENT.iter().flat_map(|names| names.split_whitespace()))
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_and_rare_names_are_told_apart() {
        for name in ["garcia", "mohammed", "zhang", "smith", "ivanov"] {
            assert!(COMMON_NAMES.contains(name), "{name}");
        }
        for name in ["velloway", "quillfeather", "okonjima", "zardozi"] {
            assert!(!COMMON_NAMES.contains(name), "{name}");
        }
    }
}
